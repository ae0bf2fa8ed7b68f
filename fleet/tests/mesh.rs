//! The mesh against a second way of computing it, and against the truth.

use wirestamp_fleet_kernels::mesh::{Assumptions, Excluded, Invalid, Link, MOST, Reference, solve};

const NONE: Assumptions = Assumptions {
    drift: 0,
    rate: 0,
    timestamp_error: 0,
};

/// SplitMix64: the same numbers everywhere.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// How long a queue is, in nanoseconds.
    fn queue(&mut self) -> i64 {
        let uniform = ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (-uniform.ln() * 12.0) as i64
    }

    fn below(&mut self, limit: i64) -> i64 {
        (self.next() % limit.unsigned_abs()).cast_signed()
    }
}

struct Fleet {
    truth: Vec<i64>,
    links: Vec<Link>,
    claims: Vec<Option<i64>>,
}

/// Honest hosts: every delay is at least what is said of it.
fn fleet(chance: &mut Chance, hosts: u32, links: usize, spread: i64) -> Fleet {
    let truth: Vec<_> = (0..hosts)
        .map(|_| chance.below(2 * spread + 1) - spread)
        .collect();
    let offset = |host: u32| truth[host as usize];
    let link = |from: u32, to: u32, chance: &mut Chance| {
        let (least_forward, least_backward) = (chance.below(900), chance.below(900));
        let delay = |least: i64, chance: &mut Chance| least + chance.below(300);
        let ahead = offset(to) - offset(from);
        let (there, back) = (delay(least_forward, chance), delay(least_backward, chance));
        Link {
            from,
            to,
            forward: (chance.below(10) > 0).then_some(there + ahead),
            backward: (chance.below(10) > 0).then_some(back - ahead),
            least_forward,
            least_backward,
        }
    };
    let links = (0..links)
        .map(|number| {
            let from = number as u32 % hosts;
            let to = (from + 1 + chance.below(i64::from(hosts) - 1) as u32) % hosts;
            link(from, to, chance)
        })
        .collect();
    let claims = truth
        .iter()
        .map(|offset| (chance.below(3) > 0).then_some(offset.abs() + chance.below(200)))
        .collect();
    Fleet {
        truth,
        links,
        claims,
    }
}

/// Floyd and Warshall's algorithm over the same constraints.
fn distances(fleet: &Fleet, with_claims: bool, slack: i64) -> Vec<Vec<Option<i64>>> {
    let nodes = fleet.truth.len() + 1;
    let mut lengths = vec![vec![None::<i64>; nodes]; nodes];
    let mut limit = |from: usize, to: usize, limit: i64| {
        let least = &mut lengths[from][to];
        *least = Some(least.map_or(limit, |least| least.min(limit)));
    };
    for node in 0..nodes {
        limit(node, node, 0);
    }
    for link in &fleet.links {
        let (from, to) = (link.from as usize, link.to as usize);
        if let Some(forward) = link.forward {
            limit(from, to, forward - link.least_forward + slack);
        }
        if let Some(backward) = link.backward {
            limit(to, from, backward - link.least_backward + slack);
        }
    }
    for (host, claim) in fleet.claims.iter().enumerate().filter(|_| with_claims) {
        if let Some(claim) = *claim {
            limit(host, nodes - 1, claim);
            limit(nodes - 1, host, claim);
        }
    }
    for middle in 0..nodes {
        for from in 0..nodes {
            for to in 0..nodes {
                if let (Some(one), Some(other)) = (lengths[from][middle], lengths[middle][to]) {
                    let least = &mut lengths[from][to];
                    *least = Some(least.map_or(one + other, |least| least.min(one + other)));
                }
            }
        }
    }
    lengths
}

#[test]
fn bounds_are_the_tightest_that_the_constraints_allow_and_contain_the_truth() {
    let mut chance = Chance(18);
    for round in 0..200 {
        let hosts = 2 + chance.below(12) as u32;
        let links = chance.below(40) as usize;
        let days = if round % 4 == 0 {
            30 * 86_400_000_000_000
        } else {
            5_000
        };
        let fleet = fleet(&mut chance, hosts, links, days);
        let assumptions = Assumptions {
            drift: chance.below(20),
            rate: 0,
            timestamp_error: chance.below(20),
        };
        let slack = 2 * (assumptions.drift + assumptions.timestamp_error);
        let origin = chance.below(hosts.into()) as u32;
        for reference in [Reference::Host(origin), Reference::Utc] {
            let by_utc = reference == Reference::Utc;
            let solution = solve(&fleet.links, &fleet.claims, reference, assumptions).unwrap();
            assert!(
                solution.cycles.is_empty(),
                "honest hosts: {:?}",
                solution.cycles
            );
            let lengths = distances(&fleet, by_utc, slack);
            let (origin, zero) = match by_utc {
                true => (fleet.truth.len(), 0),
                false => (origin as usize, fleet.truth[origin as usize]),
            };
            for (host, offset) in solution.offsets.iter().enumerate() {
                match (offset, lengths[host][origin], lengths[origin][host]) {
                    (Ok(offset), Some(earliest), Some(latest)) => {
                        assert_eq!((offset.earliest, offset.latest), (-earliest, latest));
                        assert!(
                            (offset.earliest..=offset.latest).contains(&(fleet.truth[host] - zero))
                        );
                        assert!((offset.earliest..=offset.latest).contains(&offset.estimate));
                    }
                    (Err(Excluded::Unreachable), earliest, latest) => {
                        assert!(earliest.is_none() || latest.is_none());
                    }
                    other => panic!("{other:?}"),
                }
            }
            for from in 0..hosts {
                for (to, bounds) in solution.against(from).into_iter().enumerate() {
                    let both = lengths[to][from as usize].zip(lengths[from as usize][to]);
                    assert_eq!(bounds, both.map(|(earliest, latest)| (-earliest, latest)));
                }
            }
        }
    }
}

#[test]
fn a_host_that_contradicts_its_peers_is_named_and_left_out() {
    let mut chance = Chance(3);
    for liar in 0..10 {
        let mut fleet = fleet(&mut chance, 40, 400, 5_000);
        for link in &mut fleet.links {
            // receive timestamps 3 µs early: what arrives there seems to come sooner than it can
            if link.to == liar {
                link.forward = link.forward.map(|forward| forward - 3_000);
            }
            if link.from == liar {
                link.backward = link.backward.map(|backward| backward - 3_000);
            }
        }
        let solution = solve(&fleet.links, &fleet.claims, Reference::Utc, NONE).unwrap();
        assert_eq!(solution.offsets[liar as usize], Err(Excluded::Contradicts));
        let blamed: Vec<_> = solution
            .cycles
            .iter()
            .filter_map(|cycle| cycle.blamed)
            .collect();
        assert_eq!(blamed, [liar]);
        assert!(solution.cycles[0].hosts.contains(&liar) && solution.cycles[0].excess > 0);
        for (host, offset) in solution.offsets.iter().enumerate() {
            if let Ok(offset) = offset {
                assert!(
                    (offset.earliest..=offset.latest).contains(&fleet.truth[host]),
                    "host {host}"
                );
            }
        }
    }
}

/// Consistent with all its peers, and still wrong: only what it claims about UTC gives it away.
#[test]
fn a_clock_outside_of_its_own_claim_is_named() {
    let mut chance = Chance(4);
    let mut fleet = fleet(&mut chance, 40, 400, 100);
    for claim in &mut fleet.claims {
        *claim = Some(250);
    }
    let liar = 17;
    for link in &mut fleet.links {
        let sign = i64::from(link.to == liar) - i64::from(link.from == liar);
        link.forward = link.forward.map(|forward| forward + 3_000 * sign);
        link.backward = link.backward.map(|backward| backward - 3_000 * sign);
    }
    let solution = solve(&fleet.links, &fleet.claims, Reference::Utc, NONE).unwrap();
    let blamed: Vec<_> = solution
        .cycles
        .iter()
        .filter_map(|cycle| cycle.blamed)
        .collect();
    assert_eq!(blamed, [liar]);
    assert!(solution.cycles[0].through_utc);
    let off = solution.estimates[liar as usize].unwrap() - fleet.truth[liar as usize];
    assert!((off - 3_000).abs() < 200, "{off}");
}

#[test]
fn a_lying_link_is_left_out_and_its_hosts_are_not() {
    let mut chance = Chance(5);
    let mut fleet = fleet(&mut chance, 40, 400, 1_000);
    let link = fleet
        .links
        .iter_mut()
        .find(|link| link.forward.is_some() && link.backward.is_some());
    let link = link.unwrap();
    let lying = (link.from.min(link.to), link.from.max(link.to));
    link.forward = link.forward.map(|forward| forward - 50_000);
    let solution = solve(&fleet.links, &fleet.claims, Reference::Utc, NONE).unwrap();
    assert_eq!(solution.cycles.len(), 1);
    assert_eq!(solution.cycles[0].blamed, None);
    assert_eq!(solution.cycles[0].link, Some(lying));
    for (host, offset) in solution.offsets.iter().enumerate() {
        let offset = offset.unwrap();
        assert!(
            (offset.earliest..=offset.latest).contains(&fleet.truth[host]),
            "host {host}"
        );
    }
}

/// What was left out pulls nobody's estimate any more: it is that of a fleet without it.
#[test]
fn the_estimate_rests_on_what_is_not_left_out() {
    let mut chance = Chance(7);
    let mut fleet = fleet(&mut chance, 12, 60, 5_000);
    let liar = 5;
    let of_liar = |link: &Link| link.from == liar || link.to == liar;
    let honest: Vec<_> = fleet
        .links
        .iter()
        .filter(|link| !of_liar(link))
        .copied()
        .collect();
    for link in fleet.links.iter_mut().filter(|link| link.to == liar) {
        link.forward = link.forward.map(|forward| forward - 3_000);
    }
    for link in fleet.links.iter_mut().filter(|link| link.from == liar) {
        link.backward = link.backward.map(|backward| backward - 3_000);
    }
    for reference in [Reference::Utc, Reference::Host(1)] {
        let found = solve(&fleet.links, &fleet.claims, reference, NONE).unwrap();
        let expected = solve(&honest, &fleet.claims, reference, NONE).unwrap();
        assert_eq!(found.offsets[liar as usize], Err(Excluded::Contradicts));
        assert!(found.estimates[liar as usize].is_some());
        assert!(
            found.cycles.iter().all(|cycle| cycle.blamed == Some(liar)),
            "{:?}",
            found.cycles
        );
        for host in (0..12).filter(|host| *host != liar as usize) {
            let near = found.estimates[host].unwrap() - expected.estimates[host].unwrap();
            assert!(near.abs() <= 1, "host {host}: {near} ns");
            assert_eq!(found.offsets[host].is_ok(), expected.offsets[host].is_ok());
        }
    }
}

/// What a clock files under a window was seconds earlier, when its frequency and its peers' had not yet moved them.
#[test]
fn clocks_several_windows_apart_contradict_nobody() {
    const SECOND: i64 = 1_000_000_000;
    let mut chance = Chance(11);
    for round in 0..50 {
        let mut fleet = fleet(&mut chance, 12, 60, 300);
        let ahead = (chance.below(2 * 60) - 60) * SECOND;
        // parts in 10⁹, which are the nanoseconds that a clock gains in a second
        let rates: Vec<_> = (0..12).map(|_| chance.below(201) - 100).collect();
        for link in &mut fleet.links {
            let (from, to) = (link.from as usize, link.to as usize);
            let mut by = if to == 0 { ahead } else { 0 };
            if from == 0 {
                by = (rates[from] - rates[to]) * (ahead / SECOND) - ahead;
            }
            link.forward = link.forward.map(|forward| forward + by);
            link.backward = link.backward.map(|backward| backward - by);
        }
        fleet.truth[0] += ahead;
        fleet.claims[0] = None;
        let assumed = Assumptions { rate: 100, ..NONE };
        for reference in [Reference::Utc, Reference::Host(5)] {
            let solution = solve(&fleet.links, &fleet.claims, reference, assumed).unwrap();
            assert!(solution.cycles.is_empty(), "{round}: {:?}", solution.cycles);
            let zero = if reference == Reference::Utc {
                0
            } else {
                fleet.truth[5]
            };
            for (host, offset) in solution.offsets.iter().enumerate() {
                if let Ok(offset) = offset {
                    let truth = fleet.truth[host] - zero;
                    assert!(
                        (offset.earliest..=offset.latest).contains(&truth),
                        "{round}: host {host}"
                    );
                }
            }
        }
    }
}

#[test]
fn nonsense_is_refused() {
    let link = Link {
        from: 0,
        to: 1,
        forward: Some(1),
        backward: None,
        least_forward: 0,
        least_backward: 0,
    };
    let two = [None, None];
    let solved = |link: Link, claims: &[Option<i64>], reference| {
        solve(&[link], claims, reference, NONE).map(drop)
    };
    assert_eq!(
        solved(Link { to: 2, ..link }, &two, Reference::Utc),
        Err(Invalid::Host(2))
    );
    assert_eq!(
        solved(Link { to: 0, ..link }, &two, Reference::Utc),
        Err(Invalid::Link(0))
    );
    let beyond = Link {
        forward: Some(MOST + 1),
        ..link
    };
    assert_eq!(solved(beyond, &two, Reference::Utc), Err(Invalid::Link(0)));
    assert_eq!(
        solved(
            Link {
                backward: Some(i64::MIN),
                ..link
            },
            &two,
            Reference::Utc
        ),
        Err(Invalid::Link(0))
    );
    assert_eq!(
        solved(link, &two, Reference::Host(2)),
        Err(Invalid::Host(2))
    );
    assert_eq!(
        solved(link, &[Some(-1), None], Reference::Utc),
        Err(Invalid::Claims)
    );
    let negative = Assumptions {
        drift: -1,
        rate: 0,
        timestamp_error: 0,
    };
    assert_eq!(
        solve(&[link], &two, Reference::Utc, negative).map(drop),
        Err(Invalid::Assumptions)
    );
    assert!(
        solve(&[], &[], Reference::Utc, NONE)
            .unwrap()
            .offsets
            .is_empty()
    );
}

/// The target: 2 % lying links, and the estimate's error is at most 0.30 of an honest link's, for 99 % of the hosts.
#[test]
fn the_estimate_is_better_than_a_link_also_among_liars() {
    let mut chance = Chance(6);
    let hosts = 500;
    let truth: Vec<_> = (0..hosts).map(|_| chance.below(20_001) - 10_000).collect();
    let mut links = Vec::new();
    let mut single = Vec::new();
    for from in 0..hosts {
        for _ in 0..10 {
            let to = (from + 1 + chance.below(hosts as i64 - 1) as usize) % hosts;
            let least = 4_000 + chance.below(6_000);
            let ahead = truth[to] - truth[from];
            let lie = if chance.below(50) == 0 {
                1_000 + chance.below(20_000)
            } else {
                0
            };
            let (forward, backward) = (
                least + chance.queue() + ahead,
                least + chance.queue() - ahead,
            );
            single.push(((forward - backward) / 2 - ahead).abs());
            links.push(Link {
                from: from as u32,
                to: to as u32,
                forward: Some(forward + lie),
                backward: Some(backward),
                least_forward: least,
                least_backward: least,
            });
        }
    }
    let solution = solve(&links, &vec![None; hosts], Reference::Host(0), NONE).unwrap();
    let mut off: Vec<_> = (0..hosts)
        .map(|host| solution.estimates[host].unwrap() - truth[host])
        .collect();
    off.sort_unstable();
    let median = off[hosts / 2];
    let mut errors: Vec<_> = off.into_iter().map(|off| (off - median).abs()).collect();
    errors.sort_unstable();
    single.sort_unstable();
    let (error, of_a_link) = (
        errors[errors.len() * 99 / 100],
        single[single.len() * 99 / 100],
    );
    assert!(
        error * 100 <= of_a_link * 30,
        "{error} ns, a link {of_a_link} ns"
    );
}

/// Days beside nanoseconds: what the rounds of the estimate leave unsolved must not hide in what the days weigh.
#[test]
fn clocks_that_are_days_off_spoil_no_estimate() {
    for seed in 0..8 {
        let mut chance = Chance(seed);
        let mut fleet = fleet(&mut chance, 400, 4_000, 300);
        let days = |host: u32| host % 40 == 7;
        let off = |host: u32| i64::from(days(host)) * (3 * 86_400_000_000_000 + i64::from(host));
        for link in &mut fleet.links {
            let ahead = off(link.to) - off(link.from);
            link.forward = link.forward.map(|seen| seen + ahead);
            link.backward = link.backward.map(|seen| seen - ahead);
        }
        fleet.claims = vec![Some(500); 400];
        let solution = solve(&fleet.links, &fleet.claims, Reference::Utc, NONE).expect("sense");
        for (host, truth) in fleet.truth.iter().enumerate() {
            let estimate = solution.estimates[host].expect("links");
            let error = estimate - truth - off(host as u32);
            assert!(error.abs() < 200, "seed {seed}, host {host}: {error} ns");
            assert_eq!(solution.offsets[host].is_err(), days(host as u32), "{host}");
        }
    }
}

/// A ring needs more steps than a mesh whose hosts are few links apart. Its links agree, so the estimate is theirs whatever they weigh.
#[test]
fn a_long_ring_is_estimated_as_well_as_a_mesh() {
    for seed in 0..8 {
        let mut chance = Chance(seed);
        let hosts = 300;
        let truth: Vec<_> = (0..hosts).map(|_| chance.below(20_001) - 10_000).collect();
        let links: Vec<_> = (0..hosts)
            .map(|from| {
                let to = (from + 1) % hosts;
                let (ahead, delay) = (truth[to] - truth[from], 4_000 + chance.queue());
                Link {
                    from: from as u32,
                    to: to as u32,
                    forward: Some(delay + ahead),
                    backward: Some(delay - ahead),
                    least_forward: 4_000,
                    least_backward: 4_000,
                }
            })
            .collect();
        let solution = solve(&links, &vec![None; hosts], Reference::Host(0), NONE).expect("sense");
        for (host, offset) in truth.iter().enumerate() {
            let error = solution.estimates[host].expect("links") - (offset - truth[0]);
            assert!(error.abs() <= 1, "seed {seed}, host {host}: {error} ns");
        }
    }
}
