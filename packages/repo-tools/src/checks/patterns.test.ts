import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { attacksOn, parsePattern, searchSteps } from './backtracking.ts'

/**
 * Clients and upstreams control the texts that regular expressions match: an error text has up to 256 kB, a field up to the body
 * limit. A pattern with quadratic time blocks the process for seconds.
 */

const packages = fileURLToPath(new URL('../../..', import.meta.url))
const served = ['core', 'node', 'express', 'fastify', 'hono', 'tokens', 'console', 'otel', 'ai-sdk']

interface Pattern {
  readonly place: string
  readonly pattern: RegExp
}

/** Patterns that only match short texts, with the reason. */
const bounded: { readonly [pattern: string]: string } = {
  '/\\/+$/': 'a base path from the configuration',
  '/\\.?0+$/': 'the digits of a number',
}

const sources = served.flatMap((name) =>
  readdirSync(join(packages, name, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !/\.test(-support)?\.ts$|^ui\/|^testing\//.test(file))
    .map((file) => join(name, 'src', file)),
)

function patternsIn(file: string): Pattern[] {
  const found: Pattern[] = []
  const text = readFileSync(join(packages, file), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const literal = node.text
      const end = literal.lastIndexOf('/')
      if (!Object.hasOwn(bounded, literal))
        found.push({
          place: `${file} ${literal}`,
          pattern: new RegExp(literal.slice(1, end), literal.slice(end + 1)),
        })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** Returns true if doubling some text more than doubles the steps. */
function worstGrowth(pattern: RegExp): { readonly growth: number; readonly text: string } {
  const options = parsePattern(pattern)
  let worst = { growth: 0, text: '' }
  for (const attack of attacksOn(options)) {
    const steps = (size: number): number => searchSteps(options, attack(size), pattern.global)
    // The search recurses for each repetition of a group: twice this size overflows the stack before the code is compiled.
    const few = steps(50)
    const growth = few === Number.POSITIVE_INFINITY ? few : steps(200) / Math.max(1000, few)
    if (growth > worst.growth) worst = { growth, text: attack(3) }
  }
  return worst
}

describe('a regular expression for untrusted text', () => {
  const patterns = sources.flatMap(patternsIn)

  it('is collected from the sources', () => {
    expect(patterns.length).toBeGreaterThan(100)
  })

  it('takes linear time for any text', () => {
    const slow = patterns.flatMap(({ place, pattern }) => {
      const { growth, text } = worstGrowth(pattern)
      return growth > 6
        ? [`${place} takes ${growth.toFixed(1)} times the steps for four times ${JSON.stringify(text)}`]
        : []
    })
    expect(slow).toEqual([])
  })

  it.each([
    /token count.*exceeds/i,
    /=+$/,
    /^data:([^;,]*)[^,]*,/,
    /\[['"](.*?)['"]\]/g,
    /(^|[/.:])(gpt|.*-chat(-|$))/,
    /\s+x/,
    /(a|a)*b/,
  ])('is detected as slow: %s', (pattern) => {
    expect(worstGrowth(pattern).growth).toBeGreaterThan(6)
  })

  it.each([/^a+b$/, /<[^<>]*>/, /\d{3,}/g, /(?<=a)_b/g, /a{0,40}b/])('is detected as fast: %s', (pattern) => {
    expect(worstGrowth(pattern).growth).toBeLessThan(6)
  })
})
