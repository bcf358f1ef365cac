// Package docs embeds the documentation in the program.
package docs

import "embed"

// Pages are the Markdown files of this folder.
//
//go:embed *.md
var Pages embed.FS

// Audit holds the checker that audit.md describes, and the vectors that test a
// checker.
//
//go:embed audit/verify.py audit/vectors.json
var Audit embed.FS
