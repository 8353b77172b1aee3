import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const folder = new URL('.', import.meta.url)

/** Returns the classes that have rules without another selector in a style sheet: `.calls {`. */
const classesIn = (css: string): readonly string[] => [
  ...new Set([...css.matchAll(/^\.([\w-]+)(?= \{)/gm)].map(([, name = '']) => name)),
]

it('no class has rules of its own in two style sheets, because every page loads all of them', () => {
  const places = new Map<string, string[]>()
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.css')))
    for (const name of classesIn(readFileSync(new URL(file, folder), 'utf8')))
      places.set(name, [...(places.get(name) ?? []), file])
  expect(places.size).toBeGreaterThan(100)
  expect([...places].filter(([, files]) => files.length > 1)).toEqual([])
})
