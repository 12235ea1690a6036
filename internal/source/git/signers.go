package git

import (
	"context"
	"errors"
	"fmt"

	"github.com/argosy-hub/argosy/internal/source"
)

// verify refuses a commit that no allowed signer has signed by ssh. Signatures of other kinds would
// depend on the keys that git finds on the machine.
func (r *Repository) verify(ctx context.Context, commit string) error {
	if r.signers == "" {
		return nil
	}
	_, err := r.output(ctx, 64<<10, "--git-dir="+r.mirror, "-c", "gpg.ssh.allowedSignersFile="+r.signers, "-c", "gpg.minTrustLevel=fully",
		"-c", "gpg.program=false", "-c", "gpg.openpgp.program=false", "-c", "gpg.x509.program=false", "-c", "gpg.ssh.revocationFile=",
		"verify-commit", commit)
	var exit *gitExit
	if errors.As(err, &exit) {
		return &source.Error{
			Reason: source.Unsigned, Source: r.name, Detail: fmt.Sprintf("commit %s has no signature of an allowed signer", commit),
			Hint: "sign it by an ssh key of the file of allowed signers (git commit -S with gpg.format=ssh)",
		}
	}
	return err
}
