// Package adminapi serves the routes below /_fake/, by which people and programs steer a fake and read
// what it has recorded. The request page and the routes of the journal are in package requestpage.
package adminapi
