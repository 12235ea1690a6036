// Package web has no user interface: npm makes its files, and the module has none of them.
package web

import "embed"

// GetFS returns an empty filesystem.
func GetFS() embed.FS { return embed.FS{} }
