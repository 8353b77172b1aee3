import { expect, it } from 'vitest'
import { createOutline } from '../base/json/outline.ts'
import { estimateBody } from './estimate-body.ts'
import { estimateBytes } from './estimate-bytes.ts'

const image = 'iVBORw0KGgo/+AAA'.repeat(10_000)

it.each([
  ['words', 'All work and no play makes a gateway dull. '.repeat(900), false],
  ['words of another alphabet', 'Съешь ещё этих мягких французских булок. '.repeat(900), false],
  ['Chinese characters', '我能吞下玻璃而不伤身体。'.repeat(3000), false],
  ['emoji', '🙂🙃'.repeat(3000), false],
  ['escaped words', 'Съешь ещё этих мягких французских булок. '.repeat(900), true],
  ['escaped Chinese characters, which look like data', '我能吞下玻璃而不伤身体。'.repeat(3000), true],
  ['escaped emoji', '🙂🙃'.repeat(3000), true],
  ['backslashes only', '\\'.repeat(50_000), false],
  ['text that looks like escapes', '\\u4e2d'.repeat(9000), false],
  ['paths', 'C:\\users\\nobody\\'.repeat(3000), false],
  ['lines and quotes', 'He said: "No."\n'.repeat(3000), false],
  ['an image', `data:image/png;base64,${image}`, false],
  ['base64 without a data URL', image, false],
  ['base64 with line breaks', image.replaceAll('A', '\n'), false],
])('estimates a value of %s close to its size', (_name, text, escaped) => {
  const value = { model: 'm', messages: [{ role: 'user', content: text }] }
  const json = JSON.stringify(value)
  const written = escaped
    ? json.replaceAll(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : json
  const bytes = new TextEncoder().encode(written)
  const estimated = estimateBytes(bytes, createOutline(bytes, 9, [])?.longTexts ?? []) / estimateBody(value)
  expect(estimated).toBeGreaterThan(0.75)
  expect(estimated).toBeLessThan(1.5)
})
