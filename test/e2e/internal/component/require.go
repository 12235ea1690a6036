package component

import (
	"errors"
	"fmt"
	"os/exec"
)

// packages of Debian that have the commands a hub takes from the machine.
var packages = map[string]string{
	"git":          "git",
	"go":           "golang-go",
	"redis-server": "redis-server",
	"unshare":      "util-linux",
}

// Require tells which of the commands the machine does not have, and the Debian packages they are
// in.
func Require(commands ...string) error {
	var missing []error
	for _, command := range commands {
		if _, err := exec.LookPath(command); err == nil {
			continue
		}
		where := ""
		if name, ok := packages[command]; ok {
			where = fmt.Sprintf(" (Debian package %s: apt-get install %[1]s)", name)
		}
		missing = append(missing, fmt.Errorf("command %q is needed and not in PATH%s", command, where))
	}
	return errors.Join(missing...)
}
