// What acts: forms, chat, answers, forks, comparisons.  Pages (ui/routes) and slots (ui/slots) are registered here.
export {};
