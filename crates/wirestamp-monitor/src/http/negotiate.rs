//! Which form of the metrics a client prefers, by its Accept header (RFC 9110, section 12.5.1).

/// A form of the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Prometheus' text 0.0.4.
    Text,
    OpenMetrics,
    Protobuf,
}

/// The form with the highest weight; of two, the one that is named first. Without a header, and for clients that name none of them:
/// Prometheus' text, which every reader of metrics knows.
pub(super) fn form(accept: Option<&str>) -> Form {
    let mut best = (0, Form::Text);
    for range in accept.unwrap_or("*/*").split(',') {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default().to_ascii_lowercase();
        let parameters: Vec<_> = parts
            .filter_map(|part| part.split_once('='))
            .map(|(name, value)| {
                (
                    name.trim().to_ascii_lowercase(),
                    value.trim().trim_matches('"'),
                )
            })
            .collect();
        let parameter = |wanted: &str| {
            parameters
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, value)| *value)
        };
        let form = match media.as_str() {
            "application/vnd.google.protobuf" => {
                let is_ours = parameter("proto")
                    .is_none_or(|proto| proto == "io.prometheus.client.MetricFamily")
                    && parameter("encoding").is_none_or(|encoding| encoding == "delimited");
                if is_ours { Form::Protobuf } else { continue }
            }
            "application/openmetrics-text" | "application/*" => Form::OpenMetrics,
            "text/plain" if parameter("version").is_some_and(|version| version != "0.0.4") => {
                continue;
            }
            "text/plain" | "text/*" | "*/*" => Form::Text,
            _ => continue,
        };
        let weight = weight(parameter("q"));
        if weight > best.0 {
            best = (weight, form);
        }
    }
    best.1
}

/// Returns a weight in thousandths; an invalid one counts as 1, as if it were left out.
fn weight(q: Option<&str>) -> u32 {
    let value = q.map_or(1.0, |q| q.parse::<f64>().unwrap_or(1.0));
    (value.clamp(0.0, 1.0) * 1_000.0).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROTOBUF: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";

    #[test]
    fn the_highest_weight_wins() {
        let cases = [
            (None, Form::Text),
            (Some("*/*".to_owned()), Form::Text),
            // Prometheus 2.42 with native histograms: no weight
            (
                Some(format!(
                    "{PROTOBUF}, application/openmetrics-text;version=1.0.0;q=0.75, text/plain;q=0.5,*/*;q=0.1"
                )),
                Form::Protobuf,
            ),
            (
                Some(format!(
                    "application/openmetrics-text;version=1.0.0;q=0.6,{PROTOBUF};q=0.5,*/*;q=0.2"
                )),
                Form::OpenMetrics,
            ),
            (
                Some(format!(
                    "application/openmetrics-text;q=0.4, {PROTOBUF};q=0.5"
                )),
                Form::Protobuf,
            ),
            (Some(format!("{PROTOBUF};q=0")), Form::Text),
            (
                Some("application/vnd.google.protobuf;proto=other;encoding=delimited".to_owned()),
                Form::Text,
            ),
            (
                Some("text/html,application/xhtml+xml,*/*;q=0.8".to_owned()),
                Form::Text,
            ),
            // Prometheus 2.42 and 3 without native histograms
            (
                Some(
                    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                     text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
                        .to_owned(),
                ),
                Form::OpenMetrics,
            ),
            (
                Some(
                    "text/plain;version=1.0.0;escaping=allow-utf-8,application/openmetrics-text;q=0.5".to_owned(),
                ),
                Form::OpenMetrics,
            ),
            (
                Some("text/plain;version=0.0.4;q=0.9,application/openmetrics-text;q=0.5".to_owned()),
                Form::Text,
            ),
            (Some("application/*".to_owned()), Form::OpenMetrics),
            (Some("image/png".to_owned()), Form::Text),
            (Some(";;;q=,,=".to_owned()), Form::Text),
        ];
        for (accept, wanted) in cases {
            assert_eq!(form(accept.as_deref()), wanted, "{accept:?}");
        }
    }
}
