//! The data files inside the program, and the texts of the page. They are text: compressed, a tenth to a third of it is left.

/// Catalogue of volume types, `data/volumes.toml`.
pub fn volumes() -> String {
    text(include_bytes!(concat!(env!("OUT_DIR"), "/volumes.toml.zlib")))
}

/// Needs of applications, `data/fits.toml`.
pub fn fits() -> String {
    text(include_bytes!(concat!(env!("OUT_DIR"), "/fits.toml.zlib")))
}

/// Fields that `lint` reads, `data/lint.toml`.
pub fn lint() -> String {
    text(include_bytes!(concat!(env!("OUT_DIR"), "/lint.toml.zlib")))
}

/// The style sheet of the page, `templates/report.css`.
pub fn style() -> String {
    text(include_bytes!(concat!(env!("OUT_DIR"), "/report.css.zlib")))
}

/// The script of the page, `templates/report.js`.
pub fn script() -> String {
    text(include_bytes!(concat!(env!("OUT_DIR"), "/report.js.zlib")))
}

/// plotly.js, unchanged; data/plotly/README.md says which and why.
pub fn plotly() -> String {
    text(include_bytes!("../data/plotly/plotly-cartesian.min.js.zlib"))
}

fn text(compressed: &[u8]) -> String {
    let bytes = miniz_oxide::inflate::decompress_to_vec_zlib(compressed).expect("the build compressed it");
    String::from_utf8(bytes).expect("the file is text")
}
