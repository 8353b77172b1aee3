/**
 * Options of MiniSearch for the search box of the site; the search test uses the same. VitePress sends `boostDocument` to the browser as
 * text, so it may use nothing outside of its body.
 */
export const searchOptions = {
  fuzzy: 0.2,
  prefix: true,
  // Plural forms match by prefix.
  weights: { prefix: 0.8, fuzzy: 0.2 },
  // Titles are headings, `titles` the headings above them.
  boost: { title: 4, text: 1, titles: 2 },
  boostDocument: (id: string): number => {
    if (/\/(?:reference\/api|decisions)\//.test(id)) return 0.2
    if (/\/(?:internals|architecture|recipes\/migrate)/.test(id)) return 0.4
    // These pages mention every topic, for readers who do not know its name yet.
    if (/\/(?:concepts|introduction|troubleshooting)/.test(id)) return 0.5
    if (/\/reference\//.test(id)) return 0.8
    return /\/operate\//.test(id) ? 1.3 : 1
  },
}
