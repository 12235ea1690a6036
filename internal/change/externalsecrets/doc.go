// Package externalsecrets reads objects of External Secrets with the project's own types: the
// remote names that an object reads or writes, and the roles that a store uses.
//
//	uses, faults := externalsecrets.Read(tree) // ExternalSecret dns
//	uses[0] // {Verb: "read", Store: {ClusterSecretStore aws}, Name: "prod/dns"}
//
// Callers may rely on this:
//
//  1. It reads ExternalSecret, ClusterExternalSecret, PushSecret, ClusterPushSecret, SecretStore
//     and ClusterSecretStore. Other kinds of the group have no uses.
//  2. A field of a wrong type is a fault, and such an object has no uses: the API server refuses
//     it. An unknown field is no fault, because a later version may know it.
//  3. A template that External Secrets cannot parse is a fault, and so is an entry of dataFrom that
//     its webhook refuses. Templates in ConfigMaps and Secrets are not read.
//  4. The objects name secrets and do not hold them, so the uses may be printed.
//
// Only cmd/argosy links it: the types bring controller-runtime with them.
package externalsecrets
