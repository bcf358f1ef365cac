// Package logtest helps to test logs and their callers. [Faulty] wraps a log and makes
// it fail on purpose. The package also has helpers that tests of other packages share:
// seeds, comparisons of long texts, and the search for leaked goroutines.
package logtest
