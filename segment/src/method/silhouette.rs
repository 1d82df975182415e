//! How well points lie in their clusters.

use ndarray::Array2;

/// Mean silhouette of each of several labellings of the same points (Rousseeuw 1987, J. Comput.
/// Appl. Math. 20).
///
/// A point's silhouette is (b − a) / max(a, b). a is the point's mean distance to its own cluster,
/// b its mean distance to the nearest other one. It is 0 for a point alone in its cluster. The mean
/// lies from −1 to 1, and is undefined (NaN) for a single cluster. The cost is quadratic in the
/// number of points; each distance is computed once for all labellings.
pub(super) fn silhouettes(points: &Array2<f64>, labellings: &[Vec<usize>]) -> Vec<f64> {
    let count = points.nrows();
    let clusters: Vec<usize> =
        labellings.iter().map(|labels| labels.iter().max().map_or(0, |label| label + 1)).collect();
    let sizes: Vec<Vec<usize>> = labellings
        .iter()
        .zip(&clusters)
        .map(|(labels, clusters)| {
            let mut sizes = vec![0; *clusters];
            labels.iter().for_each(|label| sizes[*label] += 1);
            sizes
        })
        .collect();
    let mut sums: Vec<Vec<f64>> = clusters.iter().map(|clusters| vec![0.0; *clusters]).collect();
    let mut totals = vec![0.0; labellings.len()];
    let rows: Vec<&[f64]> = points.rows().into_iter().filter_map(|row| row.to_slice()).collect();
    for (i, one) in rows.iter().enumerate() {
        sums.iter_mut().for_each(|sums| sums.fill(0.0));
        for (j, other) in rows.iter().enumerate() {
            let square: f64 = one.iter().zip(*other).map(|(a, b)| (a - b) * (a - b)).sum();
            let distance = square.sqrt();
            for (sums, labels) in sums.iter_mut().zip(labellings) {
                sums[labels[j]] += distance;
            }
        }
        for (l, total) in totals.iter_mut().enumerate() {
            *total += of_point(&sums[l], &sizes[l], labellings[l][i]);
        }
    }
    totals
        .iter()
        .zip(&sizes)
        .map(|(total, sizes)| {
            let several = sizes.iter().filter(|size| **size > 0).count() > 1;
            if several { total / count as f64 } else { f64::NAN }
        })
        .collect()
}

fn of_point(sums: &[f64], sizes: &[usize], own: usize) -> f64 {
    if sizes[own] < 2 {
        return 0.0;
    }
    let a = sums[own] / (sizes[own] - 1) as f64;
    let others = (0..sums.len()).filter(|cluster| *cluster != own && sizes[*cluster] > 0);
    let b = others.map(|cluster| sums[cluster] / sizes[cluster] as f64).fold(f64::INFINITY, f64::min);
    let scale = a.max(b);
    if scale > 0.0 && scale.is_finite() { (b - a) / scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn by_hand() {
        // 0, 1 | 5: a = 1, b = 5 and a = 1, b = 4; the last one is alone.
        let points = array![[0.0], [1.0], [5.0]];
        let values = silhouettes(&points, &[vec![0, 0, 1], vec![0, 0, 0]]);
        assert!((values[0] - (4.0 / 5.0 + 3.0 / 4.0) / 3.0).abs() < 1e-12, "{values:?}");
        assert!(values[1].is_nan());
    }
}
