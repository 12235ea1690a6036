package git

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/source"
)

// verify returns an error unless an allowed signer has signed the commit, or the tag that the ref
// is, with ssh. Signatures of other kinds would depend on the keys that git finds on the machine. A
// tag counts only under its own name, so an old tag cannot replace a new one.
func (r *Repository) verify(ctx context.Context, t target) error {
	if r.signers == "" {
		return nil
	}
	_, err := r.verified(ctx, "verify-commit", t.commit)
	name, isTag := strings.CutPrefix(t.remote, tags)
	what, hint := fmt.Sprintf("commit %s has no signature", t.commit), "git commit -S"
	if isTag {
		what, hint = fmt.Sprintf("neither the tag %s nor its commit %s has a signature", name, t.commit), "git tag -s"
	}
	var exit *gitExit
	if errors.As(err, &exit) && isTag && t.id != t.commit {
		var signed string
		if signed, err = r.verified(ctx, "verify-tag", "--format=%(tag)", t.id); err == nil && strings.TrimSuffix(signed, "\n") != name {
			return &source.Error{
				Reason: source.Unsigned, Source: r.name, Detail: fmt.Sprintf("%s is the signed tag %q under another name", t.remote, strings.TrimSpace(signed)),
				Hint: "sign a tag of that name",
			}
		}
	}
	if errors.As(err, &exit) {
		return &source.Error{
			Reason: source.Unsigned, Source: r.name, Detail: what + " of an allowed signer",
			Hint: "sign it by an ssh key of the file of allowed signers (" + hint + " with gpg.format=ssh)",
		}
	}
	return err
}

// verified runs one of git's verify commands, with only the allowed signers' keys.
func (r *Repository) verified(ctx context.Context, args ...string) (string, error) {
	return r.output(ctx, 64<<10, append([]string{
		"--git-dir=" + r.mirror, "-c", "gpg.ssh.allowedSignersFile=" + r.signers, "-c", "gpg.minTrustLevel=fully",
		"-c", "gpg.program=false", "-c", "gpg.openpgp.program=false", "-c", "gpg.x509.program=false", "-c", "gpg.ssh.revocationFile=",
	}, args...)...)
}
