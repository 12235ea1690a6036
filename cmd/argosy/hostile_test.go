package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// hostile are the commands of scripts that write what an attacker commits:
//
//	bomb FILE ENTRY   a packed chart whose entry of that name is an archive that unpacks to 128 MiB
//	isolated COMMAND...   runs a command without a network, and wants no call of it that would use one; skipped where the
//	                      system does not allow that
func hostile() map[string]func(*testscript.TestScript, bool, []string) {
	zeros := sync.OnceValue(func() []byte { return packed(map[string][]byte{"inner/files/zeros": make([]byte, 64<<20)}, 2) })
	return map[string]func(*testscript.TestScript, bool, []string){
		"bomb": func(ts *testscript.TestScript, neg bool, args []string) {
			need(ts, neg, args, 2, "bomb FILE ENTRY")
			data := packed(map[string][]byte{"bomb/Chart.yaml": []byte("apiVersion: v2\nname: bomb\nversion: 1.0.0\n"), args[1]: zeros()}, 1)
			ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
		},
		"isolated": func(ts *testscript.TestScript, neg bool, args []string) {
			need(ts, neg, args, 1, "isolated COMMAND...")
			if ts.Exec("unshare", "--map-root-user", "--net", "true") != nil {
				ts.Logf("skipped: unshare gives no namespace without a network")
			} else {
				ts.Check(ts.Exec("unshare", append([]string{"--map-root-user", "--net"}, args...)...))
			}
			trace := ts.MkAbs("trace")
			strace := []string{"--follow-forks", "--trace=%network", "--output=" + trace}
			if ts.Exec("strace", append(strace, "true")...) != nil {
				ts.Logf("skipped: strace is not there or not allowed")
				return
			}
			ts.Check(ts.Exec("strace", append(strace, args...)...))
			for line := range strings.Lines(ts.ReadFile(trace)) {
				if strings.Contains(line, "AF_INET") {
					ts.Fatalf("it uses the network: %s", line)
				}
			}
		},
	}
}

// packed is an archive with each file so many times.
func packed(files map[string][]byte, times int) []byte {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	out := tar.NewWriter(zip)
	for name, data := range files {
		for range times {
			mustWork(out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), Format: tar.FormatPAX}))
			_, err := out.Write(data)
			mustWork(err)
		}
	}
	mustWork(out.Close())
	mustWork(zip.Close())
	return b.Bytes()
}
