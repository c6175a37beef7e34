//! Putting the results into a page of the documentation.

/// The line that the part written by this program stands behind; `<!-- end -->` closes it.
const BEGIN: &str = "<!-- beside Open MPI: written by `cargo xtask bench` -->";
const END: &str = "<!-- end -->";

/// The page with the part between the two lines replaced.
pub fn replace(page: &str, text: &str) -> Result<String, String> {
    let missing = || format!("has no line {BEGIN} with a line {END} behind it");
    let (before, rest) = page.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_marked_part_changes() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nb\n<!-- end -->\n");
        let once = replace(&page, "\nnew\n").unwrap();
        assert_eq!(once, format!("a\n{BEGIN}\nnew\n{END}\nb\n<!-- end -->\n"));
        assert_eq!(replace(&once, "new").unwrap(), once);
        assert!(replace("nothing", "x").is_err() && replace(BEGIN, "x").is_err());
    }
}
