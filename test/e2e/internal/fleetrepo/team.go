package fleetrepo

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
)

// TeamFolder holds what the repositories of teams have, in a checkout.
const TeamFolder = "examples/repositories"

// teamHost is where this repository's files say that teams have their repositories.
const teamHost = "https://git.example.com/"

// NewTeam makes the repository of a team out of a folder of TeamFolder, and pushes it.
func NewTeam(ctx context.Context, source, folder, remote, dir string) (*Repo, error) {
	from := TeamFolder + "/" + folder + "/"
	files, err := read(ctx, source, from)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", folder, err)
	}
	own := map[string][]byte{}
	for path, text := range files {
		own[strings.TrimPrefix(path, from)] = besides(text, remote)
	}
	r := &Repo{dir: dir, branch: Main, fleet: fleet{files: own}}
	if err := r.create(ctx, remote); err != nil {
		return nil, fmt.Errorf("repository %s: %w", folder, err)
	}
	return r, nil
}

// besides puts the server of a repository in the place of the teams' host (8).
func besides(text []byte, remote string) []byte {
	server := serverOf(remote)
	if server == "" {
		return text
	}
	return bytes.ReplaceAll(text, []byte(teamHost), []byte(server))
}

// serverOf is the server of an address, without credentials and with a slash at its end.
func serverOf(remote string) string {
	u, err := url.Parse(remote)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/"
}
