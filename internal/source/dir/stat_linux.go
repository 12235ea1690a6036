package dir

import (
	"io/fs"
	"syscall"
)

// more adds what only Linux reports: times that no program can set.
func (s *fileStat) more(info fs.FileInfo) {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.ctime, s.dev, s.inode = sys.Ctim.Nano(), sys.Dev, sys.Ino
	}
}
