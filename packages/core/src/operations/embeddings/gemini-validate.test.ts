import { expect, it } from 'vitest'
import { validateInstances } from './gemini-validate.ts'

it('rejects an image prompt among the texts of :predict, which would be billed as text', () => {
  expect(() => validateInstances({ instances: [{ content: 'a' }, { prompt: 'a cat' }] })).toThrow(
    'Invalid value at \'instances[1]\': unknown name "prompt".',
  )
  expect(() => validateInstances({ instances: [{ content: 'a' }, { content: 'b' }] })).not.toThrow()
})
