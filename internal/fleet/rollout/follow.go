package rollout

import (
	"maps"
	"slices"
	"time"
)

// ofAllGroups is the key of the record for an agent's groups that the hub has not announced.
const ofAllGroups = ""

// BeginFollowing makes the log of an agent whose groups are all served from one revision. Its
// records are for groups: the hub decides what its rings have, and the agent follows.
func BeginFollowing(revision string, now time.Time) Log {
	train := Train{Number: 1, Revision: revision}
	return Log{Newest: train, Rings: map[string]Record{ofAllGroups: {Train: train, Since: now}}}
}

// Follow has an agent's groups take the revisions that the hub has announced, if their files are
// there. A group without an announcement keeps its revision. Groups that another engine owns now
// are released: that engine deploys them meanwhile.
func Follow(log Log, announced map[string]string, others []string, isThere func(revision string) bool, now time.Time) Log {
	log = log.clone()
	hasFollowed := slices.ContainsFunc(slices.Collect(maps.Keys(log.Rings)), func(group string) bool { return group != ofAllGroups && !log.Rings[group].Released })
	for _, group := range others {
		record, is := log.Rings[group]
		if !is {
			record = log.Rings[ofAllGroups]
		}
		record.Released = true
		log.Rings[group] = record
	}
	for group, revision := range announced {
		before, is := log.Rings[group]
		if !is {
			before = log.Rings[ofAllGroups]
		}
		if log.Followed(group) == revision && !log.Rings[group].Released || !isThere(revision) {
			continue
		}
		train := Train{Number: log.Newest.Number + 1, Revision: revision}
		if log.Newest.Revision == revision {
			train = log.Newest
		}
		log.Newest = train
		log.Rings[group] = Record{Train: train, Since: now, Had: before.having(revision)}
	}
	if log.InForce != nil && !hasFollowed { // what comes first may be older than the policy
		return log.Begins(log.InForce.Policy, log.InForce.From.Revision)
	}
	return log
}

// Followed returns the revision that an agent's group has, empty if it is not known.
func (l Log) Followed(group string) string {
	if r, ok := l.Rings[group]; ok {
		return r.Train.Revision
	}
	return l.Rings[ofAllGroups].Train.Revision
}
