//! The congestion window: slow start and congestion avoidance of Reno (RFC 5681) and CUBIC
//! (RFC 9438).
//!
//! The window counts packets of full size. It grows in slow start by one for each acknowledged
//! packet. Above the threshold Reno adds one packet in a round trip; CUBIC follows
//! W(t) = C(t − K)³ + Wmax, where t is the time since the last loss, and is never slower than Reno.
//! A loss leaves half of the packets in flight with Reno, 0.7 of the window with CUBIC.

use crate::engine::Picoseconds;
use crate::units::PS_PER_S;

/// The algorithm that moves the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// RFC 5681.
    Reno,
    /// RFC 9438, the default of Linux.
    Cubic,
}

/// Scale of CUBIC's window, packets per s³: 0.4 (RFC 9438, section 5). Twice as much reaches the
/// window of the last loss in 0.8 of the time.
const C: f64 = 0.4;
/// Part of the window that is left after a loss: 0.7 (RFC 9438, section 4.6).
pub(super) const CUBIC_BETA: f64 = 0.7;
/// Part of the packets in flight that is left with Reno: 1/2 (RFC 5681, equation 4).
pub(super) const RENO_BETA: f64 = 0.5;
/// Packets that Reno's estimate grows by in a round trip: 3(1 − β)/(1 + β), so that it has Reno's
/// mean window in spite of its smaller decrease (RFC 9438, section 4.3).
const FRIENDLY_ALPHA: f64 = 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA);
/// Least threshold, packets (RFC 5681, equation 4).
const LEAST_THRESHOLD: f64 = 2.0;

/// The window of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct CongestionWindow {
    algorithm: Congestion,
    /// In packets.
    pub(super) window: f64,
    /// Slow start ends here.
    pub(super) threshold: f64,
    /// Window at the last loss, packets, less where it was below that of the loss before.
    most: f64,
    /// Window before the last loss, packets.
    prior: f64,
    /// Reno's window since the last loss, packets.
    friendly: f64,
    /// Begin of congestion avoidance since the last loss, with K in picoseconds.
    epoch: Option<(Picoseconds, f64)>,
}

impl CongestionWindow {
    pub(super) fn new(algorithm: Congestion, initial: u32) -> Self {
        Self {
            algorithm,
            window: f64::from(initial.max(1)),
            threshold: f64::INFINITY,
            most: 0.0,
            prior: 0.0,
            friendly: 0.0,
            epoch: None,
        }
    }

    /// True below the threshold.
    pub(super) fn is_in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// `packets` have been acknowledged while the window was used in full. `growth` is the part of
    /// slow start's growth that is due, 1 unless slow start is about to end.
    pub(super) fn acknowledge(
        &mut self,
        packets: u32,
        now: Picoseconds,
        round_trip: Picoseconds,
        growth: f64,
    ) {
        let packets = f64::from(packets);
        if self.is_in_slow_start() {
            self.window = (self.window + packets * growth).min(self.threshold);
            return;
        }
        match self.algorithm {
            Congestion::Reno => self.window += packets / self.window,
            Congestion::Cubic => self.follow_cubic(packets, now, round_trip),
        }
    }

    /// Sections 4.2 to 4.5 of RFC 9438.
    fn follow_cubic(&mut self, packets: f64, now: Picoseconds, round_trip: Picoseconds) {
        let (began, k) = match self.epoch {
            Some(epoch) => epoch,
            None => {
                // Slow start that ended without a loss begins at the plateau: K = 0.
                self.most = self.most.max(self.window);
                self.friendly = self.window;
                let k = ((self.most - self.window) / C).cbrt() * PS_PER_S;
                *self.epoch.insert((now, k))
            }
        };
        let at = |time: Picoseconds| C * ((time as f64 - k) / PS_PER_S).powi(3) + self.most;
        let elapsed = now.saturating_sub(began);
        let alpha = if self.friendly < self.prior { FRIENDLY_ALPHA } else { 1.0 };
        self.friendly += alpha * packets / self.window;
        if at(elapsed) < self.friendly {
            self.window = self.window.max(self.friendly);
            return;
        }
        let target = at(elapsed.saturating_add(round_trip)).clamp(self.window, 1.5 * self.window);
        self.window += packets * (target - self.window) / self.window;
    }

    /// A loss was found by acknowledgements with `flight` packets in the network: the window
    /// shrinks, once for all losses of a window.
    pub(super) fn reduce(&mut self, flight: u32) {
        self.threshold = match self.algorithm {
            Congestion::Reno => f64::from(flight) * RENO_BETA,
            Congestion::Cubic => {
                // Fast convergence (section 4.7): a flow that loses early gives way to new ones.
                let is_lower = self.window < self.most;
                self.most = if is_lower { self.window * (1.0 + CUBIC_BETA) / 2.0 } else { self.window };
                self.prior = self.window;
                self.window * CUBIC_BETA
            }
        }
        .max(LEAST_THRESHOLD);
        self.window = self.threshold;
        self.epoch = None;
    }

    /// A timer ran down: slow start from one packet (RFC 5681, section 3.1).
    pub(super) fn collapse(&mut self, flight: u32) {
        self.reduce(flight);
        self.window = 1.0;
    }

    /// Slow start ends at the current window.
    pub(super) fn leave_slow_start(&mut self) {
        self.threshold = self.window;
    }

    /// After a pause longer than the timeout nothing is known of the network: at most the initial
    /// window (RFC 5681, section 4.1).
    pub(super) fn restart(&mut self, initial: u32) {
        self.window = self.window.min(f64::from(initial.max(1)));
        self.epoch = None;
    }
}

#[allow(clippy::float_cmp, reason = "these numbers are exact")]
#[cfg(test)]
mod tests {
    use super::*;

    const S: Picoseconds = 1_000_000_000_000;

    /// Acknowledges a window in each round trip.
    fn rounds(window: &mut CongestionWindow, from: Picoseconds, count: u64, round_trip: Picoseconds) {
        for round in 0..count {
            let packets = window.window as u32;
            for packet in 0..packets {
                let time = round * round_trip + u64::from(packet) * round_trip / u64::from(packets);
                window.acknowledge(1, from + time, round_trip, 1.0);
            }
        }
    }

    #[test]
    fn slow_start_doubles_to_the_threshold() {
        let mut window = CongestionWindow::new(Congestion::Reno, 10);
        rounds(&mut window, 0, 3, S / 100);
        assert_eq!(window.window, 80.0);
        window.threshold = 100.0;
        rounds(&mut window, 0, 1, S / 100);
        // 20 acknowledgements reach the threshold; 60 add 1/100 each.
        assert!((window.window - 100.6).abs() < 0.01, "{}", window.window);
    }

    /// Mean window, packets, where each `period`-th packet is lost. Time passes as packets are
    /// acknowledged, a window in each round trip.
    fn mean(algorithm: Congestion, period: u32, round_trip: Picoseconds) -> f64 {
        let mut window = CongestionWindow::new(algorithm, 10);
        window.leave_slow_start();
        let (mut now, mut begin) = (0.0, 0.0);
        for loss in 0..60 {
            // The first losses find the steady state.
            if loss == 20 {
                begin = now;
            }
            for _ in 0..period {
                now += round_trip as f64 / window.window;
                window.acknowledge(1, now as u64, round_trip, 1.0);
            }
            window.reduce(window.window as u32);
        }
        40.0 * f64::from(period) * round_trip as f64 / (now - begin)
    }

    /// Mathis, Semke, Mahdavi, Ott, *The macroscopic behavior of the TCP congestion avoidance
    /// algorithm*, 1997, equation 3: √(3/2)/√p packets where losses come at regular distances.
    #[test]
    fn reno_has_the_mean_window_of_the_square_root_law() {
        for period in [100, 1000, 10_000] {
            let (found, law) = (mean(Congestion::Reno, period, S / 50), (1.5 * f64::from(period)).sqrt());
            assert!((found / law - 1.0).abs() < 0.05, "{period}: {found} packets, {law} by the law");
        }
    }

    /// Equation 6 of RFC 9438: AVG_W = (C(3 + β)/(4(1 − β)))^(1/4) · (RTT/p)^(3/4), where Reno is
    /// slower. It counts time as continuous, the window is renewed by acknowledgements: 4 % less.
    #[test]
    fn cubic_has_the_mean_window_of_its_response_function() {
        for (period, round_trip) in [(10_000, S), (30_000, S / 5), (100_000, S / 10)] {
            let found = mean(Congestion::Cubic, period, round_trip);
            let per_loss = f64::from(period) * round_trip as f64 / S as f64;
            let law = (C * (3.0 + CUBIC_BETA) / (4.0 * (1.0 - CUBIC_BETA))).powf(0.25) * per_loss.powf(0.75);
            assert!((found / law - 1.0).abs() < 0.08, "{period}: {found} packets, {law} by the function");
        }
    }

    #[test]
    fn reno_adds_a_packet_in_a_round_trip_and_halves() {
        let mut window = CongestionWindow::new(Congestion::Reno, 100);
        window.leave_slow_start();
        rounds(&mut window, 0, 50, S / 100);
        assert!((window.window - 150.0).abs() < 1.0, "{}", window.window);
        window.reduce(120);
        assert_eq!((window.window, window.threshold), (60.0, 60.0));
        window.collapse(60);
        assert_eq!((window.window, window.threshold), (1.0, 30.0));
        window.collapse(1);
        assert_eq!(window.threshold, 2.0);
    }

    /// W(t) = C(t − K)³ + Wmax and K = cbrt(Wmax(1 − β)/C), equations 1 and 2 of RFC 9438. The
    /// round trip is so long that Reno is slower.
    #[test]
    fn cubic_follows_its_function() {
        let round_trip = S / 10;
        let mut window = CongestionWindow::new(Congestion::Cubic, 1000);
        window.leave_slow_start();
        window.reduce(1000);
        assert!((window.window - 700.0).abs() < 1e-9);
        let k = (1000.0 * 0.3 / 0.4_f64).cbrt();
        for second in 0..20_u64 {
            rounds(&mut window, second * S, 10, round_trip);
            // The window is where the function will be after one more round trip.
            let t = second as f64 + 1.0;
            let expected = 0.4 * (t - k).powi(3) + 1000.0;
            assert!((window.window / expected - 1.0).abs() < 0.02, "{t} s: {} {expected}", window.window);
        }
    }

    /// With a short round trip CUBIC is as fast as Reno: 0.53 packets a round trip (section 4.3).
    #[test]
    fn cubic_is_no_slower_than_reno() {
        let mut window = CongestionWindow::new(Congestion::Cubic, 100);
        window.leave_slow_start();
        window.reduce(100);
        rounds(&mut window, 0, 20, S / 100_000);
        assert!((window.window - (70.0 + 20.0 * 0.529)).abs() < 1.0, "{}", window.window);
    }

    #[test]
    fn losses_before_the_old_window_leave_room() {
        let mut window = CongestionWindow::new(Congestion::Cubic, 100);
        window.leave_slow_start();
        window.reduce(100);
        window.reduce(70);
        // 70 < 100, so Wmax = 70 · 0.85.
        assert!((window.most - 59.5).abs() < 1e-9 && (window.window - 49.0).abs() < 1e-9);
    }
}
