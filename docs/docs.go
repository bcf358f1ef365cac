// Package docs is the documentation as the program carries it.
package docs

import "embed"

// Pages are the Markdown files of this folder.
//
//go:embed *.md
var Pages embed.FS
