// Package tournament plans series of matches on one machine, folds their results, and
// contains the statistics. docs/practice.md describes what users see of them. The package
// does no I/O and reads no clock. It knows bots only by their index.
package tournament
