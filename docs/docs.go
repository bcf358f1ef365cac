// Package docs is the documentation as the program carries it.
package docs

import "embed"

// Pages are the Markdown files of this folder.
//
//go:embed *.md
var Pages embed.FS

// Audit is the checker that audit.md describes, and what one is tested with.
//
//go:embed audit/verify.py audit/vectors.json
var Audit embed.FS
