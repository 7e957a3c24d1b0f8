package petstoreotel

// The names of attributes, metrics and events, for tests.
const (
	AttributeAttempts     = attributeAttempts
	AttributeCallID       = attributeCallID
	AttributeScope        = attributeScope
	AttributeWaitingCalls = attributeWaitingCalls
	EventWait             = eventWait
	MetricCallDuration    = metricCallDuration
	MetricClosedUntil     = metricClosedUntil
	MetricLimit           = metricLimit
	MetricRemaining       = metricRemaining
	MetricWaitTime        = metricWaitTime
	MetricWaitingCalls    = metricWaitingCalls
	MetricWaitsGivenUp    = metricWaitsGivenUp
)
