/** Returns the anchor of each heading as GitHub generates it: lower case, with a number for repeated ones. */
export function anchorsFor(headings: readonly string[]): string[] {
  const seen = new Map<string, number>()
  return headings.map((heading) => {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const slug = words.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  })
}

/** The anchors of a page. */
export const anchorsOf = (text: string): string[] =>
  anchorsFor([...text.replaceAll(/^```.*?^```$/gms, '').matchAll(/^#+ +(.+?) *$/gm)].map(([, heading = '']) => heading))
