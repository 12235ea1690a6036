// Package catalog reads catalog entries, and names the Applications that they become (N1). An entry
// says whether clusters run a component, and from which chart:
//
//	components:
//	  external-dns:
//	    enabled: true
//	    chart: {repoURL: https://charts.example.com, name: external-dns, version: 1.14.5}
//	    namespace: external-dns
//
// The component's Application on the cluster bank-dev is external-dns-bank-dev. A name is at most
// 63 characters: a longer one is cut and ends in a hash of the full name.
package catalog
