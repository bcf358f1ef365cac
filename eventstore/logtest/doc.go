// Package logtest provides helpers for tests of logs and their callers.
// [Faulty] wraps a log and makes it fail on purpose. The package also has
// helpers that tests of other packages share: random seeds, comparisons of long
// texts, collected log output, addresses that refuse connections, and a check for
// leaked goroutines.
package logtest
