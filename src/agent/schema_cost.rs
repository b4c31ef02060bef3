//! The work of validating with a JSON Schema, computed before any validation.
//!
//! In: a schema, and an answer. Out: the number of steps, or the limit that is exceeded. The validator cannot be interrupted,
//! and references let a small schema describe more steps than can ever be done; here each pair of a subschema and a
//! value is counted once, so that counting is fast where validating is not. Counts are upper bounds: keywords that
//! depend on values (`if`, `oneOf`, `patternProperties`) count as if every branch were taken.

use std::collections::HashMap;

use ptc_core::value::Json;

/// Keywords with a list of subschemas for the same value.
const SAME_VALUE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords with one subschema for the same value.
const SAME_VALUE: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords with a map of subschemas for the same value.
const SAME_VALUE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords with one subschema for each item.
const EACH_ITEM: [&str; 5] = ["items", "additionalItems", "contains", "unevaluatedItems", "prefixItems"];
/// Keywords with one subschema for each member.
const EACH_MEMBER: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];
/// Keywords that evaluate the other keywords again.
const REPEATING: [&str; 2] = ["unevaluatedItems", "unevaluatedProperties"];
/// Keywords with a reference to a subschema for the same value.
pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// A schema with the parts that its references name.
pub(super) struct SchemaCost<'s> {
    root: &'s Json,
    /// Subschemas by `$anchor` and `$dynamicAnchor`.
    anchors: HashMap<&'s str, &'s Json>,
}

/// Levels of subschemas and values together that are followed.
pub(super) const MAX_DEPTH: usize = 1_000;

/// The counts of one calculation.
struct Counts<'c, 's> {
    cost: &'c SchemaCost<'s>,
    most: u64,
    /// The steps of a pair of a subschema and a value; `None` while they are being counted.
    known: HashMap<(*const Json, *const Json), Option<u64>>,
    depth: usize,
}

/// The reason why an answer is not validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CostError {
    /// Validating takes more steps than the limit.
    Steps,
    /// Subschemas and values together are nested deeper than [`MAX_DEPTH`].
    Depth,
    /// A reference leads back to itself for the same value: validating never ends.
    Circle,
}

impl<'s> SchemaCost<'s> {
    /// Finds the anchors of a schema.
    pub(super) fn new(root: &'s Json) -> Self {
        let mut anchors = HashMap::new();
        let mut pending = vec![root];
        while let Some(part) = pending.pop() {
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = part.get(keyword).and_then(Json::as_str) {
                    anchors.entry(name).or_insert(part);
                }
            }
            pending.extend(part.items().unwrap_or_default());
            pending.extend(part.members().unwrap_or_default().iter().map(|member| &member.value));
        }
        Self { root, anchors }
    }

    /// The number of subschemas when every reference is replaced by its subschema, except references that lead back to
    /// a subschema around them; `None` above `most`.
    pub(super) fn expanded(&self, most: u64) -> Option<u64> {
        let mut known = HashMap::new();
        self.expanded_part(self.root, most, &mut known, 0).filter(|count| *count <= most)
    }

    fn expanded_part(
        &self,
        part: &'s Json,
        most: u64,
        known: &mut HashMap<*const Json, Option<u64>>,
        depth: usize,
    ) -> Option<u64> {
        if depth > MAX_DEPTH {
            return None;
        }
        match known.get(&std::ptr::from_ref(part)) {
            Some(Some(count)) => return Some(*count),
            Some(None) => return Some(1),
            None => _ = known.insert(part, None),
        }
        let mut count = 1_u64;
        for inner in self.referenced(part) {
            count = count.saturating_add(self.expanded_part(inner, most, known, depth + 1)?);
        }
        for inner in parts(part) {
            count = count.saturating_add(self.expanded_part(inner, most, known, depth + 1)?);
        }
        known.insert(part, Some(count));
        (count <= most).then_some(count)
    }

    /// The steps of validating `value`, at most `most`.
    pub(super) fn steps(&self, value: &Json, most: u64) -> Result<u64, CostError> {
        Counts { cost: self, most, known: HashMap::new(), depth: 0 }.count(self.root, value)
    }

    /// The subschemas that the references of a subschema name; references that name nothing are skipped.
    fn referenced(&self, part: &'s Json) -> impl Iterator<Item = &'s Json> + use<'_, 's> {
        REFERENCES.into_iter().filter_map(|keyword| self.resolve(part.get(keyword)?.as_str()?))
    }

    /// The subschemas that validating `value` with a subschema applies, each with the value that it is applied to. Boxed, because the caller
    /// is recursive.
    fn applied<'v>(&'v self, part: &'s Json, value: &'v Json) -> Box<dyn Iterator<Item = (&'s Json, &'v Json)> + 'v> {
        let same = self.referenced(part).chain(same_value(part)).map(move |inner| (inner, value));
        let items = value.items().unwrap_or_default().iter().enumerate().flat_map(move |(index, item)| {
            let each = EACH_ITEM.into_iter().filter_map(move |keyword| {
                let inner = part.get(keyword)?;
                inner.items().map_or(Some(inner), |tuple| tuple.get(index))
            });
            each.map(move |inner| (inner, item))
        });
        let members = value.members().unwrap_or_default().iter().flat_map(move |member| {
            let declared = part.get("properties").and_then(|all| all.get(&member.key));
            let patterns = part.get("patternProperties").and_then(Json::members).unwrap_or_default();
            let each = EACH_MEMBER.into_iter().filter_map(move |keyword| part.get(keyword));
            let named = declared.into_iter().chain(patterns.iter().map(|pattern| &pattern.value));
            named.chain(each).map(move |inner| (inner, &member.value))
        });
        Box::new(same.chain(items).chain(members))
    }

    fn resolve(&self, reference: &str) -> Option<&'s Json> {
        let fragment = reference.strip_prefix('#')?;
        if fragment.is_empty() {
            return Some(self.root);
        }
        let Some(pointer) = fragment.strip_prefix('/') else { return self.anchors.get(fragment).copied() };
        pointer.split('/').try_fold(self.root, |at, step| {
            let step = step.replace("%25", "%").replace("~1", "/").replace("~0", "~");
            match at.items() {
                Some(items) => items.get(step.parse::<usize>().ok()?),
                None => at.get(&step),
            }
        })
    }
}

/// All values inside a part of a schema.
fn parts(part: &Json) -> impl Iterator<Item = &Json> {
    let items = part.items().unwrap_or_default().iter();
    items.chain(part.members().unwrap_or_default().iter().map(|member| &member.value))
}

impl<'s> Counts<'_, 's> {
    fn count(&mut self, part: &'s Json, value: &Json) -> Result<u64, CostError> {
        let pair = (std::ptr::from_ref(part), std::ptr::from_ref(value));
        match self.known.get(&pair) {
            Some(Some(steps)) => return Ok(*steps),
            Some(None) => return Err(CostError::Circle),
            None if self.depth > MAX_DEPTH => return Err(CostError::Depth),
            None if self.known.len() as u64 > self.most => return Err(CostError::Steps),
            None => _ = self.known.insert(pair, None),
        }
        let mut steps = 1 + part.members().map_or(0, <[_]>::len) as u64;
        self.depth += 1;
        for (inner, value) in self.cost.applied(part, value) {
            steps = steps.saturating_add(self.count(inner, value)?);
            if steps > self.most {
                return Err(CostError::Steps);
            }
        }
        self.depth -= 1;
        let repeating = REPEATING.iter().filter(|keyword| part.get(keyword).is_some()).count();
        steps = steps.saturating_mul(1 + repeating as u64);
        if steps > self.most {
            return Err(CostError::Steps);
        }
        self.known.insert(pair, Some(steps));
        Ok(steps)
    }
}

/// The subschemas for the same value, references excluded.
fn same_value(part: &Json) -> impl Iterator<Item = &Json> {
    let lists = SAME_VALUE_LISTS.into_iter().filter_map(|keyword| part.get(keyword)?.items());
    let maps = SAME_VALUE_MAPS.into_iter().filter_map(|keyword| part.get(keyword)?.members());
    let single = SAME_VALUE.into_iter().filter_map(|keyword| part.get(keyword));
    lists.flatten().chain(maps.flatten().map(|member| &member.value)).chain(single)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_core::value::json::parse;

    fn schema(text: &str) -> Json {
        parse(text).expect("JSON")
    }

    /// `levels` definitions, each with `width` uses of the next one under `keyword`.
    fn chain(levels: usize, width: usize, keyword: &str) -> Json {
        let uses = |level: usize| {
            let reference = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, level + 1);
            match keyword {
                "properties" => {
                    let members: Vec<String> = (0..width).map(|at| format!("\"p{at}\":{reference}")).collect();
                    format!("\"d{level}\":{{\"properties\":{{{}}}}}", members.join(","))
                }
                _ => format!("\"d{level}\":{{\"{keyword}\":[{}]}}", vec![reference; width].join(",")),
            }
        };
        let definitions: Vec<String> = (0..levels).map(uses).collect();
        schema(&format!(
            r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d{levels}":{{"type":"object"}}}}}}"##,
            definitions.join(",")
        ))
    }

    #[test]
    fn a_small_schema_that_expands_without_bound_is_too_large() {
        for keyword in ["allOf", "anyOf", "oneOf", "properties"] {
            assert!(SchemaCost::new(&chain(3, 10, keyword)).expanded(100_000).is_some(), "{keyword}");
            assert_eq!(SchemaCost::new(&chain(13, 10, keyword)).expanded(100_000), None, "{keyword}");
        }
    }

    #[test]
    fn a_recursive_schema_is_as_large_as_it_is_written() {
        let tree = schema(r##"{"properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}"##);
        assert!(SchemaCost::new(&tree).expanded(100).is_some());
    }

    #[test]
    fn the_steps_of_a_recursive_schema_depend_on_the_answer() {
        let tree = schema(
            r##"{"$anchor":"t","allOf":[{"properties":{"a":{"$ref":"#t"}}},{"properties":{"a":{"$ref":"#"}}}]}"##,
        );
        let nested = |levels: usize| schema(&format!("{}{{}}{}", "{\"a\":".repeat(levels), "}".repeat(levels)));
        let cost = SchemaCost::new(&tree);
        assert!(cost.steps(&nested(5), 100_000).is_ok());
        assert_eq!(cost.steps(&nested(60), 100_000), Err(CostError::Steps));
        // A list of a few steps per level, but three levels of subschemas for each of values.
        let list = schema(r##"{"properties":{"a":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}}"##);
        let cost = SchemaCost::new(&list);
        assert!(cost.steps(&nested(300), 100_000).is_ok());
        assert_eq!(cost.steps(&nested(400), 100_000), Err(CostError::Depth));
    }

    #[test]
    fn a_circular_reference_for_one_value_never_ends() {
        let circle = schema(r##"{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}}}"##);
        assert_eq!(SchemaCost::new(&circle).steps(&Json::empty(), 100_000), Err(CostError::Circle));
    }

    #[test]
    fn an_ordinary_schema_takes_a_few_steps_per_value() {
        let ordinary = schema(
            r#"{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}},
               "required":["n"],"additionalProperties":false}}}}"#,
        );
        let items = vec![r#"{"n":1}"#; 1_000].join(",");
        let steps = SchemaCost::new(&ordinary).steps(&schema(&format!("{{\"items\":[{items}]}}")), 1_000_000);
        assert!(steps.is_ok_and(|steps| (3_000..20_000).contains(&steps)), "{steps:?}");
    }
}
