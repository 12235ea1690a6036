// Package accidents is a campaign of accidents in the repository of a fleet: files cut short,
// conflict markers, folders gone, tenants renamed, files exchanged, history rewritten, one commit
// after another, the service killed and started again and the Git server hanging among them.
//
//  1. Accidents come from a seed: on the same fleet and the same hub, the same seed gives the same
//     commits. Whatever a Hub throws dice for is its own.
//  2. An accident changes something: one that would not gives way to another.
//  3. Up to three happen on top of each other. Then the good files come back, and everything must
//     be as it should be: each ApplicationSet is answered, and what is there is what should be.
//     What an accident has switched on would be a removal then, which takes an approval.
//  4. What should be there is what the last good commit asks for. An Application that is deleted,
//     or marked to go with what it runs, is a wrong deletion. One that another ApplicationSet has
//     taken over is not: it has moved (D4). Nor is the Application of a release that no cluster is
//     on any more: the ApplicationSets that it made stay, and each cluster is on
//     another release.
//     With a removal budget, it is one where more members lose something by one commit than the
//     budget allows.
//  5. A Hub is what the commits happen to: test/chaos has one with an Argo CD in small, test/e2e
//     has a real one.
package accidents
