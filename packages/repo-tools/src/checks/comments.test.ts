import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../../..', import.meta.url))

/** First words of comments that hide their subject ("What is told of a call …") instead of with its subject or a verb. */
const riddle = /^(?:What|Who|Whoever|Whether|Where|Of|By|That)\b/

/** Share of comment lines, in percent, that may open a comment with such a word. */
const highestShare = 1

/** A comment line without its markers; undefined for code. Comments behind code on the same line do not count. */
const commentLine = /^\s*(?<marker>\/\*\*?|\/\/|\*(?!\/))\s?(?<text>.*?)\s*(?:\*\/)?\s*$/

interface Comments {
  /** Number of comment lines with text. */
  readonly lines: number
  /** Places and first lines of the comments that open as a riddle. */
  readonly riddles: readonly string[]
}

/** Source files below a folder, without dependencies and builds: a recursive `readdir` would enter them. */
function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return /^(?:node_modules|dist|\.next)$/.test(entry.name) ? [] : filesIn(path)
    return /\.[cm]?[jt]sx?$/.test(entry.name) ? [path] : []
  })
}

function commentsIn(folder: string): Comments {
  let count = 0
  const riddles: string[] = []
  for (const file of filesIn(folder)) {
    /** The comment goes on from the line before. */
    let continues = false
    for (const [index, line] of readFileSync(join(root, file), 'utf8').split('\n').entries()) {
      const { marker, text = '' } = commentLine.exec(line)?.groups ?? {}
      if (marker !== undefined && text !== '') {
        count++
        if (!continues && riddle.test(text)) riddles.push(`${file}:${index + 1} ${text}`)
      }
      // A `/**` alone on its line opens a comment whose text begins on the next line.
      continues = marker !== undefined && text !== ''
    }
  }
  return { lines: count, riddles }
}

const folders = [...readdirSync(join(root, 'packages')).map((name) => `packages/${name}`), 'examples']

describe('comments', () => {
  it.each(folders)('of %s begin with their subject or a verb', (folder) => {
    const { lines, riddles } = commentsIn(folder)
    const share = Math.round((riddles.length / Math.max(1, lines)) * 1000) / 10
    const advice = `${share} % of ${lines} comment lines open as a riddle, at most ${highestShare} % may. Rewrite some of these:`
    expect(share <= highestShare ? [] : [advice, ...riddles]).toEqual([])
  })
})
