package git

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/argosy-hub/argosy/internal/source/githubapp"
)

// address is a repository's address, separate from its credentials.
type address struct {
	url      string // for git: never holds a password, nor any user information for HTTP
	display  string // for people
	scope    string // scheme://host[:port] for HTTP: where credentials may go; "" for others
	ssh      bool
	username string // from the URL (only HTTP)
	password string
}

// parseAddress reads a location. display never holds what follows "user:" in a URL.
func parseAddress(location string) (address, string) {
	if !IsURL(location) {
		abs, err := filepath.Abs(location)
		if err != nil {
			return address{display: location}, "the folder cannot be found"
		}
		return address{url: abs, display: location}, ""
	}
	if strings.HasPrefix(location, "-") {
		return address{display: "?"}, "an address cannot begin with a dash"
	}
	if !strings.Contains(location, "://") {
		if strings.Contains(location, "::") {
			return address{display: "?"}, "remote helpers (helper::address) are not supported"
		}
		return address{url: location, display: location, ssh: true}, "" // [user@]host:path
	}
	u, err := url.Parse(location)
	if err != nil { // its text quotes the URL
		return address{display: "?"}, "the URL cannot be parsed"
	}
	if u.Opaque != "" { // ssh::x://y
		return address{display: "?"}, "remote helpers (helper::address) are not supported"
	}
	a := address{}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return address{display: "?"}, "the URL has no host"
		}
		a.scope = u.Scheme + "://" + u.Host
		if u.User != nil {
			a.username = u.User.Username()
			a.password, _ = u.User.Password()
			u.User = nil
		}
	case "ssh", "git+ssh", "ssh+git":
		a.ssh = true
		if u.User != nil {
			u.User = url.User(u.User.Username()) // ssh takes no password from a URL
		}
	case "git", "file":
		u.User = nil
	default:
		return address{display: "?"}, "the URL's scheme is not one of https, http, ssh, git and file"
	}
	a.url = u.String()
	if u.RawQuery != "" { // may hold a token
		u.RawQuery = "..."
	}
	if u.Fragment != "" {
		u.Fragment, u.RawFragment = "...", ""
	}
	a.display = u.String()
	if a.scope != "" && (u.RawQuery != "" || u.Fragment != "") {
		// Git passes the URL to git-remote-https as an argument, which all processes can read.
		return a, "the URL has a query or a fragment, which stands on a command line of git's"
	}
	return a, ""
}

// credentials are the files that a credentials folder has.
type credentials struct {
	dir                                           string
	username, password, identity, knownHosts, app bool
}

func findCredentials(dir string) (credentials, error) {
	if dir == "" {
		return credentials{}, nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return credentials{}, err
	}
	c := credentials{dir: abs}
	for name, there := range map[string]*bool{"username": &c.username, "password": &c.password, "identity": &c.identity, "known_hosts": &c.knownHosts, githubapp.KeyFile: &c.app} {
		if info, err := os.Stat(filepath.Join(abs, name)); err == nil {
			*there = info.Mode().IsRegular()
		} else if !os.IsNotExist(err) {
			return credentials{}, err
		}
	}
	return c, nil
}

// check returns what is wrong with the credentials for an address, "" if nothing is.
func (c credentials) check(a address) string {
	switch {
	case c.dir == "":
	case a.scope != "" && !c.password && !c.app:
		return "the credentials folder has no file password"
	case a.ssh && !c.identity:
		return "the credentials folder has no file identity"
	case a.ssh && !c.knownHosts:
		return "the credentials folder has no file known_hosts, so that the server cannot be verified"
	}
	return ""
}

// helper returns a Git credential helper that reads the credentials folder or the environment. Its
// text holds no secret. read and printf are built into the shell: no secret is on a command line,
// and an image needs no program but sh.
func (c credentials) helper(a address) string {
	switch {
	case a.scope == "":
		return ""
	case c.password:
		return `!f() { test "$1" = get || exit 0; d=$ARGOSY_GIT_CREDENTIALS; ` +
			`u=git; if test -e "$d/username"; then IFS= read -r u <"$d/username"; fi; IFS= read -r p <"$d/password"; ` +
			`printf 'username=%s\npassword=%s\n' "$u" "$p"; }; f`
	case c.app, a.username != "" || a.password != "":
		return `!f() { test "$1" = get || exit 0; ` +
			`printf 'username=%s\npassword=%s\n' "$ARGOSY_GIT_USERNAME" "$ARGOSY_GIT_PASSWORD"; }; f`
	}
	return ""
}

// sshCommand returns the ssh command for Git. It never prompts, and uses the folder's identity and
// known hosts, if any.
func (c credentials) sshCommand(inherited string) string {
	command := inherited
	if command == "" {
		command = "ssh"
	}
	command += " -o BatchMode=yes -o ConnectTimeout=15"
	if c.identity {
		command += " -i " + shellQuote(filepath.Join(c.dir, "identity")) + " -o IdentitiesOnly=yes"
	}
	if c.knownHosts {
		command += " -o StrictHostKeyChecking=yes -o " + shellQuote(`UserKnownHostsFile="`+filepath.Join(c.dir, "known_hosts")+`"`)
	}
	return command
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
