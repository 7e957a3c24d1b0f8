// Package quota holds the rules of the limiter: how many requests one API key may have on their way,
// given what the service said in its responses (section 8). It is a state machine without lock,
// queue, timer or clock of its own: the caller tells it the time, and it never goes back.
package quota
