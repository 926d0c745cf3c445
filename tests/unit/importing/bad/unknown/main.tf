resource "kafka_topic" "logs" { name = "systemd_logs" }
