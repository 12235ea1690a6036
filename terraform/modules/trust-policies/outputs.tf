output "documents" {
  description = "The IAM documents as JSON, by what they are attached to"
  value = {
    for name, document in {
      pod_identity  = local.pod_identity
      assume_spokes = local.assume_spokes
      read_records  = local.read_records
      spoke_role    = local.spoke_role
      secret        = local.secret
      key           = local.key
    } : name => jsonencode(document)
  }
}
