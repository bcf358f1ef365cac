package storage

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"hexarena/eventstore/node/record"
)

// IsDamage reports whether an error means that stored bytes have changed.
func IsDamage(err error) bool {
	return errors.Is(err, record.ErrDamaged) || pebble.IsCorruptionError(err)
}

// OneLine returns an error's text in one line. Pebble's errors may have several.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
