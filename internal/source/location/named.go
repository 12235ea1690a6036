package location

import (
	"fmt"
	"strings"
)

// Named reads the values NAME=LOCATION of a flag.
func Named(flag string, values []string) (map[string]string, error) {
	out := map[string]string{}
	for _, v := range values {
		name, where, ok := strings.Cut(v, "=")
		if !ok || name == "" || where == "" || out[name] != "" {
			return nil, fmt.Errorf("%s %q; expected NAME=VALUE, each name once", flag, v)
		}
		out[name] = where
	}
	return out, nil
}
