// Package adminapi serves the routes below /_fake/, which steer a fake and show its state and
// journal. The request page and the routes of the journal are in package requestpage.
package adminapi
