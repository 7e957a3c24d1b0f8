// Package ui tests the request page of petstore-fake in a real browser: Chromium, without a
// window. It holds nothing but tests.
//
// They are skipped where there is no Chromium, unless PETSTORE_UI is set, as in the step ui of
// .ci/run, which installs what they need.
package ui
