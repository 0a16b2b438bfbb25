/* Dates of HTTP: seconds since 1970 in UTC, as text and back.
 *
 *   Sun, 06 Nov 1994 08:49:37 GMT     written, and read
 *   Sunday, 06-Nov-94 08:49:37 GMT    read: a year of two digits is at most 50 years ahead
 *   Sun Nov  6 08:49:37 1994          read
 *
 * The days of a date are counted by a formula for years that begin in March, so that the day that
 * some years have more is the last one (H. Hinnant, "chrono-compatible low-level date algorithms").
 */
#include <string.h>

#include "http/chars.h"
#include "http/date.h"

#define DAY 86400
#define DAYS_OF_ERA 146097 /* 400 years */
#define DAYS_TO_1970 719468

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
static const char weekdays[] = "ThuFriSatSunMonTueWed"; /* 1970 began with a Thursday */

typedef struct {
    int year, month, day, hour, minute, second; /* the first month is 0 */
} moment;

static int64_t seconds_of(const moment *m)
{
    int64_t year = m->month < 2 ? m->year - 1 : m->year;
    int64_t era = year / 400, of_era = year % 400;
    int64_t day = (153 * (m->month < 2 ? m->month + 10 : m->month - 2) + 2) / 5 + m->day - 1;
    int64_t days = of_era * 365 + of_era / 4 - of_era / 100 + day;
    return (era * DAYS_OF_ERA + days - DAYS_TO_1970) * DAY + m->hour * 3600 + m->minute * 60 +
           m->second;
}

static moment moment_of(int64_t seconds)
{
    int64_t days = seconds / DAY + DAYS_TO_1970, rest = seconds % DAY;
    int64_t era = days / DAYS_OF_ERA, of_era = days % DAYS_OF_ERA;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t day = of_era - (365 * year + year / 4 - year / 100), month = (5 * day + 2) / 153;
    moment m = {.day = (int)(day - (153 * month + 2) / 5 + 1),
                .month = (int)(month < 10 ? month + 2 : month - 10),
                .hour = (int)(rest / 3600),
                .minute = (int)(rest / 60 % 60),
                .second = (int)(rest % 60)};
    m.year = (int)(year + era * 400 + (m.month < 2));
    return m;
}

/* ---- writing ------------------------------------------------------------------------------- */

static void put_digits(char *at, int number, int digits)
{
    while (digits-- > 0) {
        at[digits] = (char)('0' + number % 10);
        number /= 10;
    }
}

void t_write_date(char *at, int64_t seconds)
{
    const moment m = moment_of(seconds);
    memcpy(at, "Thu, 01 Jan 1970 00:00:00 GMT", T_DATE);
    memcpy(at, weekdays + seconds / DAY % 7 * 3, 3);
    put_digits(at + 5, m.day, 2);
    memcpy(at + 8, months + m.month * 3, 3);
    put_digits(at + 12, m.year, 4);
    put_digits(at + 17, m.hour, 2);
    put_digits(at + 20, m.minute, 2);
    put_digits(at + 23, m.second, 2);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* A pattern: letters and marks stand for themselves, and
 *   D a digit of the day, or a space before one   N the month   Y a digit of the year
 *   h, m, s digits of the time                    w a letter of a weekday */
static const char fixed[] = "www, DD NNN YYYY hh:mm:ss GMT";
static const char asctime_form[] = "www NNN DD hh:mm:ss YYYY";
static const char short_year[] = ", DD-NNN-YY hh:mm:ss GMT";

static int month_of(const char *at)
{
    for (int month = 0; month < 12; month++)
        if (memcmp(months + month * 3, at, 3) == 0)
            return month;
    return -1;
}

static int *number_for(moment *m, char kind)
{
    switch (kind) {
    case 'D':
        return &m->day;
    case 'Y':
        return &m->year;
    case 'h':
        return &m->hour;
    case 'm':
        return &m->minute;
    case 's':
        return &m->second;
    default:
        return NULL;
    }
}

static int read_form(moment *m, const char *form, const char *at)
{
    for (; *form != '\0'; form++, at++) {
        int *number = number_for(m, *form);
        if (number != NULL && t_is(T_DIGIT, *at)) {
            *number = *number * 10 + *at - '0';
        } else if (number != NULL) {
            if (*at != ' ' || *form != 'D' || form[1] != 'D')
                return 0;
        } else if (*form == 'N') {
            if (form[1] == 'N' && form[2] == 'N')
                m->month = month_of(at);
        } else if (*form == 'w' ? t_lower(*at) < 'a' || t_lower(*at) > 'z' : *form != *at) {
            return 0;
        }
    }
    return m->month >= 0 && m->day >= 1 && m->day <= 31 && m->hour < 24 && m->minute < 60 &&
           m->second <= 60;
}

/* The year that ends with these digits and is not more than 50 years behind `now`. */
static int whole_year(int digits, int64_t now)
{
    int this_year = moment_of(now).year, year = this_year / 100 * 100 + digits;
    return year > this_year + 50 ? year - 100 : year;
}

/* The last condition: the 31st of November is the 1st of December. */
int t_read_date(t_text text, int64_t now, int64_t *seconds)
{
    moment m = {0};
    int found = 0;
    const char *comma = memchr(text.at, ',', text.size);
    size_t weekday = comma != NULL ? (size_t)(comma - text.at) : 0;
    if (text.size == T_DATE && weekday == 3) {
        found = read_form(&m, fixed, text.at);
    } else if (comma == NULL && text.size == sizeof(asctime_form) - 1) {
        found = read_form(&m, asctime_form, text.at);
    } else if (weekday >= 6 && text.size - weekday == sizeof(short_year) - 1) {
        found = read_form(&m, short_year, comma);
        m.year = whole_year(m.year, now);
    }
    if (found)
        *seconds = seconds_of(&m);
    return found && *seconds >= 0 && moment_of(*seconds - m.second).day == m.day;
}
