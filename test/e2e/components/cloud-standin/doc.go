// Package standin has stand-ins for the Terraform providers hashicorp/aws and hashicorp/helm, which
// cannot be had where the tests run. They have the resources and data sources that terraform/hub
// and terraform/spokes use, with the arguments that those set. Nothing is created but files.
//
// The environment variable CLOUD_STANDIN names the folder that is the cloud, one file for each
// object: FOLDER/ACCOUNT/REGION/TYPE/ID.json. Several runs of OpenTofu share it, as they would
// share AWS: terraform/spokes reads the parameter that terraform/hub has written.
//
// Callers may rely on this:
//
//   - The account is the account of the provider's assume_role, else the value of
//     AWS_ACCESS_KEY_ID.
//   - ARNs, IDs and addresses are made of names, so that two runs give the same bytes. They are
//     unknown in a plan, as they are with AWS.
//   - FOLDER/clusters.json may give a cluster of EKS its address and its certificate authority:
//     {"NAME": {"endpoint": "https://...", "ca": "BASE64"}}.
//   - What AWS refuses and a wrapper can get wrong is refused in AWS's words: a name that is taken
//     or too long, a policy that is no JSON or names a role that is not there, a subnet that
//     overlaps another, a second identity of one ServiceAccount.
//   - helm_release installs nothing. It keeps the values for whoever renders the chart.
package standin
