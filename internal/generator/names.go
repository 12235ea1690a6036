package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the limit of an Application's name: Kubernetes' label values, where Argo CD writes it by default.
const maxName = 63

const hashLength = 8

// applicationName is `<prefix>-<suffix>`, at most 63 characters: beyond that it is cut and ends in a hash of the full
// name, so that two long names never collide by being cut (rule N1).
func applicationName(prefix, suffix string) string {
	full := prefix + "-" + suffix
	if len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(full))
	return strings.TrimRight(full[:maxName-hashLength-1], "-") + "-" + hex.EncodeToString(sum[:])[:hashLength]
}
