// Package externalsecrets reads objects of External Secrets with the project's own types: which
// stores and remote names an object reads or writes, and which roles a store uses.
//
//		Reader{}.Read(tree) -> plan.SecretObject
//
//	 1. It reads ExternalSecret, ClusterExternalSecret, PushSecret, ClusterPushSecret, SecretStore
//	    and ClusterSecretStore. Other kinds of the group have no uses.
//	 2. A field of another type than External Secrets' is an error, because the API server refuses
//	    the object. An unknown field is none: a later version may know it.
//	 3. A template that External Secrets cannot parse is a fault of the object, and so is an entry of
//	    dataFrom that its webhook refuses. Templates in ConfigMaps and Secrets are not read.
//	 4. The objects name secrets and hold none, so that the uses may be printed.
//
// Only cmd/argosy links it: the types bring controller-runtime with them.
package externalsecrets
