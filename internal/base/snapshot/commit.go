package snapshot

import "time"

// Commit says who made a Git revision; its zero value says nothing.
type Commit struct {
	// Author is the author's name, and Subject the first line of the message.
	Author  string    `json:"author,omitempty"`
	Subject string    `json:"subject,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// WithCommit returns the same snapshot with its commit.
func (s *Snapshot) WithCommit(c Commit) *Snapshot {
	out := *s
	out.commit = c
	return &out
}

// Commit returns who made the revision, as far as the source knows.
func (s *Snapshot) Commit() Commit {
	if s == nil {
		return Commit{}
	}
	if s.main != nil {
		return s.main.commit
	}
	return s.commit
}
