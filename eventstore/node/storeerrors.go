package node

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// isDamage reports whether an error means that stored bytes have changed.
func isDamage(err error) bool {
	return errors.Is(err, errDamaged) || pebble.IsCorruptionError(err)
}

// oneLine returns an error's text in one line. Pebble's errors may have several.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
