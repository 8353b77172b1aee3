// `node packages/repo-tools/src/release/notes.mjs 0.1.0`: prints the section of CHANGELOG.md about a version; fails if there is none.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../base/workspace.mjs'
import { sectionOf } from './changelog.mjs'

const [version = ''] = process.argv.slice(2)
const notes = sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version)
if (!notes) throw new Error(`CHANGELOG.md has no section '## ${version}'.`)
console.log(notes)
