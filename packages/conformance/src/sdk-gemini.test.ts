import { afterAll } from 'vitest'
import { googleCases } from './sdk-gemini.ts'
import { runSuite } from './sdk-suite.ts'

const told = runSuite('the google SDK', 'gemini', googleCases)
afterAll(() => console.log(told()))
