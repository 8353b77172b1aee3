import { describe, expect, it } from 'vitest'
import { allowedTexts, bannedPhrases } from './banned-phrases.ts'
import { type UserText, userTexts } from './user-texts.ts'

const isAllowed = ({ file, text }: UserText): boolean =>
  allowedTexts.some((allowed) => file.startsWith(allowed.file) && text.includes(allowed.text))

const hasPhrase = ({ text, length }: UserText, pattern: RegExp): boolean =>
  (pattern.exec(text)?.index ?? length) < length

const texts = [...userTexts()]

describe('texts for users', () => {
  it('are collected from all sources', () => {
    for (const start of [
      'README.md',
      'docs/',
      'packages/core/src/',
      'packages/cli/src/',
      'packages/console/src/',
      'examples/',
    ])
      expect(texts.filter(({ file }) => file.startsWith(start)).length, start).toBeGreaterThan(20)
  })

  it.each(bannedPhrases.map(({ pattern, instead }) => [pattern, instead] as const))(
    'do not contain %s; write %s',
    (pattern) => {
      const hits = texts.filter((text) => hasPhrase(text, pattern) && !isAllowed(text))
      expect(hits.map(({ file, line, text }) => `${file}:${line} ${text.trim()}`)).toEqual([])
    },
  )

  it('are allowed to contain a phrase only where the text still exists', () => {
    const unused = allowedTexts.filter(
      ({ file, text }) => !texts.some((found) => found.file.startsWith(file) && found.text.includes(text)),
    )
    expect(unused).toEqual([])
  })
})

describe('a banned phrase', () => {
  it.each([
    ['The caller is told.', true],
    ['The value is no list.', true],
    ['There is no list.', false],
    ['It stands for a model.', true],
    ['We let callers in.', true],
    ['It lets you in a loop.', false],
    ['The answers differ.', true],
    ['The standard response.', false],
  ])('is found by whole words: %s', (text, isBanned) => {
    expect(bannedPhrases.some(({ pattern }) => pattern.test(text))).toBe(isBanned)
  })
})
