export { completions } from './completions.ts'
