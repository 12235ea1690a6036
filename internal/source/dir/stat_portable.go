//go:build !linux

package dir

import "io/fs"

// more adds nothing: only Linux reports more.
func (*fileStat) more(fs.FileInfo) {}
