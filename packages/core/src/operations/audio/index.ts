export { speech, transcriptions, translations } from './audio.ts'
